// The error messages that the store may send, by code (SERVICE.md §9.3). Azurite's messages do not
// matter.

const key = "The '(?:PartitionKey|RowKey|\\w+)' parameter of value '[\\s\\S]*' is out of range\\.";
const limit64 =
  "The property value exceeds the maximum allowed size \\(64KB\\)\\. If the property value is a string, it is UTF-16 encoded and the maximum number of characters should be 32K or less\\.";

const messagePatterns: Record<string, readonly string[]> = {
  AtomFormatNotSupported: ["Atom format is not supported\\."],
  AuthenticationFailed: [
    "Server failed to authenticate the request\\. Make sure the value of Authorization header is formed correctly including the signature\\.",
  ],
  AuthorizationFailure: ["This request is not authorized to perform this operation\\."],
  CommandsInBatchActOnDifferentPartitions: [
    "All commands in a batch must operate on same entity group\\.",
  ],
  CorsPreflightFailure: ["CORS not enabled or no matching rule found for this request\\."],
  DuplicatePropertiesSpecified: ["A property is specified more than one time\\."],
  EntityAlreadyExists: ["The specified entity already exists\\."],
  InvalidDuplicateRow: [
    "The batch request contains multiple changes with same row key\\. An entity can appear only once in a batch request\\.",
  ],
  InvalidInput: [
    "One of the request inputs is not valid\\.",
    "An error occurred while processing this request\\.",
    "Bad Request - Error in query syntax\\.",
    "Syntax error at position \\d+ in '[\\s\\S]*'\\.",
    "Unrecognized 'Edm\\.Int32' literal '-?\\d+'",
    "The etag value '.*' specified in one of the request headers is not valid\\. Please make sure only one etag value is specified and is valid\\.",
    "The batch request operation exceeds the maximum 100 changes per change set\\.",
  ],
  InvalidQueryParameterValue: [
    "Value for one of the query parameters specified in the request URI is invalid\\.",
  ],
  InvalidXmlDocument: ["XML specified is not syntactically valid\\."],
  OutOfRangeInput: [
    key,
    "One of the request inputs is out of range\\.",
    "The specified resource name length is not within the permissible limits\\.",
  ],
  PropertiesNeedValue: ["The values are not specified for all properties in the entity\\."],
  PropertyValueTooLarge: [limit64],
  RequestBodyTooLarge: [
    "The request body is too large and exceeds the maximum permissible limit\\.",
  ],
  ResourceNotFound: ["The specified resource does not exist\\."],
  TableAlreadyExists: ["The table specified already exists\\."],
  TableNotFound: ["The table specified does not exist\\."],
  UpdateConditionNotSatisfied: [
    "The update condition specified in the request was not satisfied\\.",
  ],
};

// Returns whether `message`, without its ids, is one of the messages of `code`. In a batch, the
// index of the operation may precede it.
export function isErrorMessageOf(code: string, message: string): boolean {
  return (messagePatterns[code] ?? []).some((text) =>
    new RegExp(`^(?:\\d+:)?${text}<ids>$`).test(message),
  );
}
