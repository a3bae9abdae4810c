// The requests for which a different status or code is allowed.

import type { KnownDifference, Listed, Unlisted } from "./known-differences.ts";
import type { Step } from "./request.ts";

type Allows = KnownDifference["allows"];
type TagPattern = string | RegExp;

const hasTag = (tag: TagPattern, { tags: labels }: Step) =>
  typeof tag === "string" ? labels.has(tag) : [...labels].some((label) => tag.test(label));

const allowsOutcomes =
  (tag: TagPattern, ours: RegExp, theirs: RegExp): Allows =>
  (difference, step) =>
    difference.path === "outcome" &&
    hasTag(tag, step) &&
    ours.test(String(difference.ours)) &&
    theirs.test(String(difference.theirs));

const withTagName = <R extends string>(reason: R, tag: TagPattern) =>
  `${reason} (${typeof tag === "string" ? tag : tag.source})` as R;

function listed(reason: Listed, tag: TagPattern, ours: RegExp, theirs: RegExp): KnownDifference {
  return { reason: withTagName(reason, tag), allows: allowsOutcomes(tag, ours, theirs) };
}

function notListed(
  reason: Unlisted,
  unlisted: string,
  tag: TagPattern,
  ours: RegExp,
  theirs: RegExp,
): KnownDifference {
  return { reason: withTagName(reason, tag), unlisted, allows: allowsOutcomes(tag, ours, theirs) };
}

const accepted = /^20[0-4]$/;
const invalid = /^400 InvalidInput$/;
const nameless = /^400$/;
const unauthenticated = /^403 AuthenticationFailed$/;
const unauthorized = /^403 AuthorizationFailure$/;
const done = /^202 \[20[0-4](?:,20[0-4])*\]$/; // the status of a batch and of its operations

const writes: readonly KnownDifference[] = [
  {
    reason: "SERVICE.md §2.2: PUT in X-HTTP-Method is treated as an insert",
    unlisted: "supports only GET, MERGE, PATCH and DELETE in that header",
    allows: ({ path, theirs }, { tags }) =>
      tags.has("tunnelled PUT") &&
      path === "outcome" &&
      /^(?:20[14]|400( \w+)?|403 \w+|404 TableNotFound|409 EntityAlreadyExists)$/.test(
        String(theirs),
      ),
  },
  listed(
    "row 9: values are hardly checked",
    /^bad value of (?:Binary|DateTime|Guid|Int64)$/,
    invalid,
    accepted,
  ),
  notListed(
    "SERVICE.md §1.4: values are hardly checked",
    "as in row 9, for types that the row does not name",
    /^bad value of (?:Boolean|Double|Int32|String)$/,
    invalid,
    accepted,
  ),
  listed(
    "row 9: the range of dates is not checked",
    "early DateTime",
    /^400 OutOfRangeInput$/,
    accepted,
  ),
  listed(
    "row 15: no limit on number of properties",
    "many properties",
    /^400 TooManyProperties$/,
    accepted,
  ),
  listed("row 15: no limit on length of names", "long name", /^400 PropertyNameTooLong$/, accepted),
  listed(
    "row 17: the size limit applies to the body",
    "large entity",
    /^400 EntityTooLarge$/,
    accepted,
  ),
  notListed(
    "SERVICE.md §1.2: names are not checked",
    "as in row 15, for the characters of names",
    "bad property name",
    /^400 PropertyNameInvalid$/,
    accepted,
  ),
  notListed(
    "SERVICE.md §1.2: the last of several equal names is used",
    "reads bodies with JSON.parse, which accepts duplicate names",
    "duplicate",
    /^400 DuplicatePropertiesSpecified$/,
    accepted,
  ),
  notListed(
    "SERVICE.md §3.5: a body that is not JSON counts as empty, or the error has no code",
    "its generated deserializer fails before a handler can choose an error code",
    "no JSON",
    invalid,
    /^400( PropertiesNeedValue)?$|^20[14]$/,
  ),
  notListed(
    "SERVICE.md §2.3: Content-Type is ignored, or rejected with 400",
    "guesses the format from the body",
    "atom body",
    /^415 AtomFormatNotSupported$/,
    /^20[14]$|^400$/,
  ),
  notListed(
    "SERVICE.md §3.3: If-None-Match is ignored",
    "does not support this header",
    "if-none-match",
    invalid,
    /^204$/,
  ),
  notListed(
    "SERVICE.md §3.3: another code",
    "has one code for all malformed ETags",
    "malformed etag",
    invalid,
    /^400 InvalidOperation$/,
  ),
  listed("row 18: no body", "no if-match", invalid, nameless),
  listed("row 16: another code", "bad key", /^400 OutOfRangeInput$/, /^400( InvalidInput)?$/),
  listed(
    "row 16: another code",
    "long key",
    /^400 PropertyValueTooLarge$/,
    /^400( InvalidInput)?$/,
  ),
  notListed(
    "SERVICE.md §1.3: fails on keys that are not strings",
    "calls methods of a string on a number",
    "typed key",
    /^400 PrimaryKeyPropertyIsInvalidType$/,
    /^500$/,
  ),
];

const tables: readonly KnownDifference[] = [
  listed("row 16: no code", "bad length", /^400 OutOfRangeInput$/, nameless),
  listed("row 16: no code", "bad name", /^400 InvalidResourceName$/, nameless),
  listed(
    "row 16: the name is checked, where the service only searches for the table",
    "bad name",
    /^404 ResourceNotFound$/,
    nameless,
  ),
  listed("row 16: no code", "reserved name", invalid, nameless),
  notListed(
    "SERVICE.md §3.5: another code, or fails",
    "has its own code for an empty name, and calls methods of a string on null",
    "no name",
    /^400 PropertiesNeedValue$/,
    /^400( TableNameEmpty)?$|^500$/,
  ),
  listed(
    "row 2: treated as a query of its entities",
    "one table",
    /^404 ResourceNotFound$/,
    /^404 TableNotFound$/,
  ),
];

const queries: readonly KnownDifference[] = [
  notListed(
    "SERVICE.md §4.3: literals are hardly checked",
    "row 13 is about valid literals; these are malformed",
    "bad literal",
    invalid,
    /^200$|^500/,
  ),
  listed("row 13: fails on other types", "mixed filter", /^200$/, /^500$/),
  listed(
    "row 12: keywords in any case",
    "keyword case",
    /^400 InvalidInput$|^501 NotImplemented$/,
    /^200$/,
  ),
  notListed(
    "SERVICE.md §4.3: keywords are never names",
    "splits filters into words before it parses them",
    "keyword as name",
    /^200$/,
    invalid,
  ),
  listed(
    "row 12: compares any two operands",
    "not comparable",
    /^501 NotImplemented$/,
    /^200$|^400 InvalidInput$/,
  ),
  notListed(
    "SERVICE.md §4.3: strings need no closing quote",
    "ends them at the end of the filter",
    "syntax error",
    invalid,
    /^200$/,
  ),
  listed("row 20: any text is a token", "bad token", invalid, /^200$/),
  notListed(
    "SERVICE.md §4.3: a blank filter is rejected",
    "accepts only an empty filter",
    "empty filter",
    /^200$/,
    invalid,
  ),
  notListed(
    "SERVICE.md §4.4: fails",
    "does not catch its parser's errors there",
    "bad filter",
    invalid,
    /^500$/,
  ),
  listed("row 11: reduced to 1000, or no code", "bad top", invalid, /^200$|^400$/),
  notListed(
    "SERVICE.md §4.4: unsupported options are ignored",
    "reads only the options that it supports",
    "unsupported option",
    /^501 NotImplemented$/,
    /^200$/,
  ),
];

const notAcceptable = "compares Accept with three values, and treats any other value as Atom";
const fullPath = "extracts keys from the decoded URL, and only searches for them";

const routing: readonly KnownDifference[] = [
  notListed(
    "SERVICE.md §2.2: another status, or no code",
    "its dispatcher responds to any unknown request with an empty 400",
    "wrong verb",
    /^405 MethodNotAllowed$/,
    nameless,
  ),
  notListed(
    "SERVICE.md §2.1: no code",
    "its dispatcher responds to any unknown request with an empty 400",
    "no resource",
    /^400 InvalidUri$/,
    nameless,
  ),
  notListed(
    "SERVICE.md §2.1: fails",
    "throws an exception when it parses the URL",
    "half a key",
    invalid,
    /^500$/,
  ),
  notListed(
    "SERVICE.md §2.2: X-HTTP-Method is not checked",
    "ignores unknown values of that header",
    "override",
    /^400 XMethod\w+$/,
    /^404 TableNotFound$|^400 PropertiesNeedValue$/,
  ),
  listed(
    "row 26: not checked, because of --skipApiVersionCheck",
    "bad version",
    /^400 InvalidHeaderValue$/,
    /^200$/,
  ),
  ...["accept anything", "accept list"].map((tag) =>
    notListed(
      "SERVICE.md §2.3: any value other than its three is treated as Atom",
      notAcceptable,
      tag,
      /^200$/,
      /^415 AtomFormatNotSupported$/,
    ),
  ),
  ...["accept other", "format"].map((tag) =>
    notListed(
      "SERVICE.md §2.3: any value other than its three is treated as Atom",
      notAcceptable,
      tag,
      /^415 \w+$/,
      /^415 AtomFormatNotSupported$/,
    ),
  ),
  notListed(
    "SERVICE.md §1.3: keys in URLs are not checked",
    fullPath,
    "slash in address",
    invalid,
    /^404 ResourceNotFound$|^500$/,
  ),
  notListed(
    "SERVICE.md §1.3: keys in URLs are not checked",
    fullPath,
    "control in address",
    /^400 OutOfRangeInput$/,
    /^404 ResourceNotFound$/,
  ),
  notListed(
    "SERVICE.md §2.1: accepts the keys in one order only",
    "reads the first string as the PartitionKey",
    "other order",
    /^200$/,
    /^404 ResourceNotFound$/,
  ),
  notListed(
    "SERVICE.md §2.1: the secondary can be written to",
    "has no secondary, only the host name or path of one",
    "secondary write",
    /^403 InsufficientAccountPermissions$/,
    /^20[14]$/,
  ),
];

const authorization: readonly KnownDifference[] = [
  listed("row 23: another code", "unsigned", unauthenticated, unauthorized),
  notListed(
    "SERVICE.md §7.1: another code",
    "has one code for all invalid credentials",
    /^(?:wrong signature|wrong|expired|no policy|policy time)$/,
    unauthenticated,
    unauthorized,
  ),
  notListed(
    "SERVICE.md §7.1: another code",
    "has one code for all invalid credentials",
    "malformed authorization",
    /^400 InvalidAuthenticationInfo$/,
    unauthorized,
  ),
  listed("row 22: key ranges are not enforced", "range", unauthorized, /^20[04]$/),
  notListed(
    "SERVICE.md §7.1: the store accepts http where a signature requires https",
    "serves a network; the store in a page does not",
    "protocol",
    /^200$/,
    /^403 AuthorizationProtocolMismatch$/,
  ),

  notListed(
    "SERVICE.md §7.3: if a policy and a signature have the same field, the policy's is used",
    "overwrites the signature's fields without a check",
    "said twice",
    unauthenticated,
    accepted,
  ),
  notListed(
    "SERVICE.md §8.3: a policy must have all fields",
    "its generated deserializer requires all three fields",
    "partial policy",
    /^204$/,
    nameless,
  ),
  notListed(
    "SERVICE.md §7.3: the policy does not exist",
    "has not stored the policy, because of the previous difference",
    "partial policy",
    /^20[0-4]$|^403 Auth\w+$/,
    unauthorized,
  ),

  notListed(
    "SERVICE.md §7.4: one permission allows a whole batch",
    "checks once that any permission is present, and checks none per operation",
    "letters of a batch",
    /^202 \[403 AuthorizationPermissionMismatch\]$/,
    done,
  ),
  listed(
    "row 22: key ranges are not enforced",
    "range in a batch",
    /^202 \[403 AuthorizationFailure\]$/,
    done,
  ),
  notListed(
    "SERVICE.md §7.4: any resource type allows a batch",
    "requires any of s, c, o",
    "type of a batch",
    /^403 AuthorizationResourceTypeMismatch$/,
    done,
  ),
  notListed(
    "SERVICE.md §7.1: a batch may use other tables than its signature names",
    "ignores tn",
    "table of a batch",
    /^(?:202 \[)?403 AuthenticationFailed\]?$/,
    done,
  ),
  notListed(
    "SERVICE.md §7.3: a table's signature does not allow batches",
    "checks the signature as for a table $batch; other scenarios sign requests that way",
    "signature of a batch",
    /^202 \[(?:20[0-4](?:,20[0-4])*|403 AuthorizationPermissionMismatch)\]$/,
    unauthorized,
  ),
];

const documents: readonly KnownDifference[] = [
  notListed(
    "SERVICE.md §8.3: no code",
    "its generated deserializer fails before a handler can choose an error code",
    "no XML",
    /^400 InvalidXmlDocument$/,
    nameless,
  ),
  notListed(
    "SERVICE.md §8.3: another code",
    "has one code for all errors in an XML document",
    "bad permission",
    /^400 InvalidXmlNodeValue$/,
    /^400 InvalidXmlDocument$/,
  ),
  notListed(
    "SERVICE.md §8.1: no code",
    "its generated deserializer fails before a handler can choose an error code",
    "bad node",
    /^400 InvalidXmlNodeValue$/,
    nameless,
  ),
  notListed(
    "SERVICE.md §8.1: no limit",
    "does not count rules",
    "many rules",
    /^400 InvalidXmlDocument$/,
    /^202$/,
  ),
];

const batches: readonly KnownDifference[] = [
  notListed(
    "SERVICE.md §6.1: fails",
    "searches for a boundary that does not exist",
    "no group",
    invalid,
    /^500$/,
  ),
  listed(
    "row 21: partitions are not compared",
    "other partition",
    /^202 \[400 CommandsInBatchActOnDifferentPartitions\]$/,
    done,
  ),
  {
    reason: "SERVICE.md §6.1: in a batch, an empty key counts as missing",
    unlisted: "tests whether keys are truthy",
    allows: ({ path, theirs }, { operation, entities }) =>
      operation.startsWith("batch") &&
      path === "outcome" &&
      entities.some(({ pk, rk }) => pk === "" || rk === "") &&
      /^202 \[(?:400 PropertiesNeedValue|501 NotImplemented)\]$/.test(String(theirs)),
  },
];

export const outcomeDifferences: readonly KnownDifference[] = [
  ...writes,
  ...tables,
  ...queries,
  ...routing,
  ...authorization,
  ...documents,
  ...batches,
];
