// Where another status or code is allowed: by what the request was about.

import type { Exception } from "./exceptions.ts";

// `about` is one of the step's labels; a prefix if it ends in a blank.
function outcome(reason: string, about: string, ours: RegExp, theirs: RegExp): Exception {
  const labelled = (labels: ReadonlySet<string>) =>
    [...labels].some((label) => (about.endsWith(" ") ? label.startsWith(about) : label === about));
  return {
    reason: `${reason} (${about.trim()})`,
    allows: (difference, step) =>
      difference.path === "outcome" &&
      labelled(step.about) &&
      ours.test(String(difference.ours)) &&
      theirs.test(String(difference.theirs)),
  };
}

const accepted = /^20[0-4]$/;
const refused = /^400( InvalidInput)?$/;

export const outcomeExceptions: readonly Exception[] = [
  {
    reason: "§3.1: PUT in X-HTTP-Method is taken for an insert",
    allows: ({ path, theirs }, { about }) =>
      about.has("tunnelled PUT") &&
      path === "outcome" &&
      /^(?:20[14]|400( \w+)?|403 \w+|404 TableNotFound|409 EntityAlreadyExists)$/.test(
        String(theirs),
      ),
  },
  outcome("#9: values are hardly checked", "bad value of ", /^400 InvalidInput$/, accepted),
  outcome("#9: no range of dates", "early DateTime", /^400 OutOfRangeInput$/, accepted),
  outcome(
    "#15: no limit on number of properties",
    "many properties",
    /^400 TooManyProperties$/,
    accepted,
  ),
  outcome("#15: no limit on length of names", "long name", /^400 PropertyNameTooLong$/, accepted),
  outcome("#17: size is that of the body", "large entity", /^400 EntityTooLarge$/, accepted),
  outcome(
    "§1.4: names are not checked",
    "bad property name",
    /^400 PropertyNameInvalid$/,
    accepted,
  ),
  outcome(
    "§1.4: the last of duplicates wins",
    "duplicate",
    /^400 DuplicatePropertiesSpecified$/,
    accepted,
  ),
  outcome(
    "§3.4: a body that is no JSON is none, or has no code",
    "no JSON",
    /^400 InvalidInput$/,
    /^400( PropertiesNeedValue)?$|^20[14]$/,
  ),
  outcome(
    "§2.1: Content-Type is not looked at, or refused as 400",
    "atom body",
    /^415 AtomFormatNotSupported$/,
    /^20[14]$|^400$/,
  ),
  outcome("§3.5: If-None-Match is not looked at", "if-none-match", /^400 InvalidInput$/, /^204$/),
  outcome("§3.5: another code", "malformed etag", /^400 InvalidInput$/, /^400 InvalidOperation$/),
  outcome("#18: no body", "no if-match", /^400 InvalidInput$/, /^400$/),
  outcome("#16: another code", "bad key", /^400 OutOfRangeInput$/, refused),
  outcome("#16: another code", "long key", /^400 PropertyValueTooLarge$/, refused),
  outcome(
    "§1.5: fails on keys that are no text",
    "typed key",
    /^400 PrimaryKeyPropertyIsInvalidType$/,
    /^500$/,
  ),

  outcome("#16: no code", "bad length", /^400 OutOfRangeInput$/, /^400$/),
  outcome("#16: no code", "bad name", /^400 InvalidResourceName$/, /^400$/),
  outcome(
    "#16: checked where the service only looks for it",
    "bad name",
    /^404 ResourceNotFound$/,
    /^400$/,
  ),
  outcome("#16: no code", "reserved name", /^400 InvalidInput$/, /^400$/),
  outcome(
    "§3.4: another code, or fails",
    "no name",
    /^400 PropertiesNeedValue$/,
    /^400( TableNameEmpty)?$|^500$/,
  ),
  outcome(
    "#2: a query of its entities",
    "one table",
    /^404 ResourceNotFound$/,
    /^404 TableNotFound$/,
  ),

  outcome("#13: literals are hardly checked", "bad literal", /^400 InvalidInput$/, /^200$|^500/),
  outcome("#13: fails on other types", "mixed filter", /^200$/, /^500$/),
  outcome(
    "#12: keywords in any case",
    "keyword case",
    /^400 InvalidInput$|^501 NotImplemented$/,
    /^200$/,
  ),
  outcome("#12: keywords are never names", "keyword as name", /^200$/, /^400 InvalidInput$/),
  outcome(
    "#12: compares anything with anything",
    "not comparable",
    /^501 NotImplemented$/,
    /^200$|^400 InvalidInput$/,
  ),
  outcome("#12: texts need no end", "syntax error", /^400 InvalidInput$/, /^200$/),
  outcome("#20: any text is a token", "bad token", /^400 InvalidInput$/, /^200$/),
  outcome("§4.1: a blank filter is refused", "empty filter", /^200$/, /^400 InvalidInput$/),
  outcome("§4.5: fails", "bad filter", /^400 InvalidInput$/, /^500$/),
  outcome("#11: clamped, or no code", "bad top", /^400 InvalidInput$/, /^200$|^400$/),
  outcome("§4: options are not looked at", "unsupported option", /^501 NotImplemented$/, /^200$/),

  outcome("§3.1: another status, or no code", "wrong verb", /^405 MethodNotAllowed$/, /^400$/),
  outcome("§3.1: no code", "no resource", /^400 InvalidUri$/, /^400$/),
  outcome("§3.1: fails", "half a key", /^400 InvalidInput$/, /^500$/),
  outcome(
    "§3.1: X-HTTP-Method is not checked",
    "override",
    /^400 XMethod\w+$/,
    /^404 TableNotFound$|^400 PropertiesNeedValue$/,
  ),
  outcome("#26: not checked, as it was told", "bad version", /^400 InvalidHeaderValue$/, /^200$/),
  outcome(
    "§2.1: what is not its three words is Atom",
    "accept anything",
    /^200$/,
    /^415 AtomFormatNotSupported$/,
  ),
  outcome(
    "§2.1: what is not its three words is Atom",
    "accept list",
    /^200$/,
    /^415 AtomFormatNotSupported$/,
  ),
  outcome(
    "§2.1: what is not its three words is Atom",
    "accept other",
    /^415 \w+$/,
    /^415 AtomFormatNotSupported$/,
  ),
  outcome(
    "§1.5: keys in addresses are not checked",
    "slash in address",
    /^400 InvalidInput$/,
    /^404 ResourceNotFound$|^500$/,
  ),
  outcome(
    "§1.5: keys in addresses are not checked",
    "control in address",
    /^400 OutOfRangeInput$/,
    /^404 ResourceNotFound$/,
  ),
  outcome("§3.1: keys in one order only", "other order", /^200$/, /^404 ResourceNotFound$/),
  outcome(
    "§3.7: the secondary can be written to",
    "secondary write",
    /^403 InsufficientAccountPermissions$/,
    /^20[14]$/,
  ),
  outcome("§2.1: all is Atom", "format", /^415 \w+$/, /^415 AtomFormatNotSupported$/),
  outcome(
    "#23: another code",
    "unsigned",
    /^403 AuthenticationFailed$/,
    /^403 AuthorizationFailure$/,
  ),
  outcome(
    "#23: another code",
    "wrong signature",
    /^403 AuthenticationFailed$/,
    /^403 AuthorizationFailure$/,
  ),
  outcome(
    "§7.5: another code",
    "malformed authorization",
    /^400 InvalidAuthenticationInfo$/,
    /^403 AuthorizationFailure$/,
  ),

  outcome(
    "#23: another code",
    "expired",
    /^403 AuthenticationFailed$/,
    /^403 AuthorizationFailure$/,
  ),
  outcome(
    "#23: another code",
    "other table",
    /^403 AuthenticationFailed$/,
    /^403 AuthorizationFailure$/,
  ),
  outcome("#23: another code", "wrong", /^403 AuthenticationFailed$/, /^403 AuthorizationFailure$/),
  outcome(
    "#23: another code",
    "policy",
    /^403 AuthenticationFailed$/,
    /^403 AuthorizationFailure$/,
  ),
  outcome("#22: no ranges of keys", "range", /^403 AuthorizationFailure$/, /^20[04]$/),
  outcome(
    "§7.5: here http is as good as https",
    "protocol",
    /^200$/,
    /^403 AuthorizationProtocolMismatch$/,
  ),
  outcome("§3.4: dates in one form only", "odd dates", /^204$/, /^400/),
  outcome("§3.4: no code", "no XML", /^400 InvalidXmlDocument$/, /^400$/),
  outcome(
    "§3.4: another code",
    "bad permission",
    /^400 InvalidXmlNodeValue$/,
    /^400 InvalidXmlDocument$/,
  ),
  outcome("§3.6: no code", "bad node", /^400 InvalidXmlNodeValue$/, /^400$/),
  outcome("§3.6: no limit", "many rules", /^400 InvalidXmlDocument$/, /^202$/),

  outcome("#21: fails", "no group", /^400 InvalidInput$/, /^500$/),
  outcome(
    "#21: partitions are not compared",
    "other partition",
    /^202 \[400 CommandsInBatchActOnDifferentPartitions\]$/,
    /^202 \[20[14](,20[14])*\]$/,
  ),
  {
    reason: "#21: in a batch an empty key is a missing one",
    allows: ({ path, theirs }, { operation, entities }) =>
      operation.startsWith("batch") &&
      path === "outcome" &&
      entities.some(({ pk, rk }) => pk === "" || rk === "") &&
      /^202 \[(?:400 PropertiesNeedValue|501 NotImplemented)\]$/.test(String(theirs)),
  },
];
