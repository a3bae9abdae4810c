// Where another status or code is allowed: by what the request was about.

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
const done = /^202 \[20[0-4](?:,20[0-4])*\]$/; // a batch

const writes: readonly KnownDifference[] = [
  {
    reason: "§3.1: PUT in X-HTTP-Method is taken for an insert",
    unlisted: "takes GET, MERGE, PATCH and DELETE from that header, and no other",
    allows: ({ path, theirs }, { tags }) =>
      tags.has("tunnelled PUT") &&
      path === "outcome" &&
      /^(?:20[14]|400( \w+)?|403 \w+|404 TableNotFound|409 EntityAlreadyExists)$/.test(
        String(theirs),
      ),
  },
  listed(
    "#9: values are hardly checked",
    /^bad value of (?:Binary|DateTime|Guid|Int64)$/,
    invalid,
    accepted,
  ),
  notListed(
    "§1.6: values are hardly checked",
    "row 9 for the types that it does not name",
    /^bad value of (?:Boolean|Double|Int32|String)$/,
    invalid,
    accepted,
  ),
  listed("#9: no range of dates", "early DateTime", /^400 OutOfRangeInput$/, accepted),
  listed(
    "#15: no limit on number of properties",
    "many properties",
    /^400 TooManyProperties$/,
    accepted,
  ),
  listed("#15: no limit on length of names", "long name", /^400 PropertyNameTooLong$/, accepted),
  listed("#17: size is that of the body", "large entity", /^400 EntityTooLarge$/, accepted),
  notListed(
    "§1.4: names are not checked",
    "row 15 for the characters of names",
    "bad property name",
    /^400 PropertyNameInvalid$/,
    accepted,
  ),
  notListed(
    "§1.4: the last of duplicates wins",
    "reads bodies by JSON.parse, which knows no duplicates",
    "duplicate",
    /^400 DuplicatePropertiesSpecified$/,
    accepted,
  ),
  notListed(
    "§3.4: a body that is no JSON is none, or has no code",
    "its generated deserializer gives up before a handler can name an error",
    "no JSON",
    invalid,
    /^400( PropertiesNeedValue)?$|^20[14]$/,
  ),
  notListed(
    "§2.1: Content-Type is not looked at, or refused as 400",
    "parses by the body's looks",
    "atom body",
    /^415 AtomFormatNotSupported$/,
    /^20[14]$|^400$/,
  ),
  notListed(
    "§3.5: If-None-Match is not looked at",
    "does not know it",
    "if-none-match",
    invalid,
    /^204$/,
  ),
  notListed(
    "§3.5: another code",
    "has one code for all ETags that it cannot read",
    "malformed etag",
    invalid,
    /^400 InvalidOperation$/,
  ),
  listed("#18: no body", "no if-match", invalid, nameless),
  listed("#16: another code", "bad key", /^400 OutOfRangeInput$/, /^400( InvalidInput)?$/),
  listed("#16: another code", "long key", /^400 PropertyValueTooLarge$/, /^400( InvalidInput)?$/),
  notListed(
    "§1.5: fails on keys that are no text",
    "calls a text's methods on a number",
    "typed key",
    /^400 PrimaryKeyPropertyIsInvalidType$/,
    /^500$/,
  ),
];

const tables: readonly KnownDifference[] = [
  listed("#16: no code", "bad length", /^400 OutOfRangeInput$/, nameless),
  listed("#16: no code", "bad name", /^400 InvalidResourceName$/, nameless),
  listed(
    "#16: checked where the service only looks for it",
    "bad name",
    /^404 ResourceNotFound$/,
    nameless,
  ),
  listed("#16: no code", "reserved name", invalid, nameless),
  notListed(
    "§3.4: another code, or fails",
    "has a code of its own for it, and calls a text's methods on null",
    "no name",
    /^400 PropertiesNeedValue$/,
    /^400( TableNameEmpty)?$|^500$/,
  ),
  listed(
    "#2: a query of its entities",
    "one table",
    /^404 ResourceNotFound$/,
    /^404 TableNotFound$/,
  ),
];

const queries: readonly KnownDifference[] = [
  notListed(
    "§4.2: literals are hardly checked",
    "row 13 tells of literals that are sound; these are not",
    "bad literal",
    invalid,
    /^200$|^500/,
  ),
  listed("#13: fails on other types", "mixed filter", /^200$/, /^500$/),
  listed(
    "#12: keywords in any case",
    "keyword case",
    /^400 InvalidInput$|^501 NotImplemented$/,
    /^200$/,
  ),
  notListed(
    "§4.1: keywords are never names",
    "splits filters into words before it knows what stands where",
    "keyword as name",
    /^200$/,
    invalid,
  ),
  listed(
    "#12: compares anything with anything",
    "not comparable",
    /^501 NotImplemented$/,
    /^200$|^400 InvalidInput$/,
  ),
  notListed(
    "§4.2: texts need no end",
    "ends them with the filter",
    "syntax error",
    invalid,
    /^200$/,
  ),
  listed("#20: any text is a token", "bad token", invalid, /^200$/),
  notListed(
    "§4.1: a blank filter is refused",
    "only knows the empty one",
    "empty filter",
    /^200$/,
    invalid,
  ),
  notListed(
    "§4.5: fails",
    "does not catch its parser's errors there",
    "bad filter",
    invalid,
    /^500$/,
  ),
  listed("#11: clamped, or no code", "bad top", invalid, /^200$|^400$/),
  notListed(
    "§4: options are not looked at",
    "reads only what it knows",
    "unsupported option",
    /^501 NotImplemented$/,
    /^200$/,
  ),
];

const notAcceptable = "compares Accept with three texts, and takes anything else for Atom";
const fullPath = "takes keys out of the decoded address, and only looks for them";

const routing: readonly KnownDifference[] = [
  notListed(
    "§3.1: another status, or no code",
    "its dispatcher answers all that it does not know with an empty 400",
    "wrong verb",
    /^405 MethodNotAllowed$/,
    nameless,
  ),
  notListed(
    "§3.1: no code",
    "its dispatcher answers all that it does not know with an empty 400",
    "no resource",
    /^400 InvalidUri$/,
    nameless,
  ),
  notListed(
    "§3.1: fails",
    "throws where it takes an address to pieces",
    "half a key",
    invalid,
    /^500$/,
  ),
  notListed(
    "§3.1: X-HTTP-Method is not checked",
    "ignores what it does not know in that header",
    "override",
    /^400 XMethod\w+$/,
    /^404 TableNotFound$|^400 PropertiesNeedValue$/,
  ),
  listed("#26: not checked, as it was told", "bad version", /^400 InvalidHeaderValue$/, /^200$/),
  ...["accept anything", "accept list"].map((tag) =>
    notListed(
      "§2.1: what is not its three words is Atom",
      notAcceptable,
      tag,
      /^200$/,
      /^415 AtomFormatNotSupported$/,
    ),
  ),
  ...["accept other", "format"].map((tag) =>
    notListed(
      "§2.1: what is not its three words is Atom",
      notAcceptable,
      tag,
      /^415 \w+$/,
      /^415 AtomFormatNotSupported$/,
    ),
  ),
  notListed(
    "§1.5: keys in addresses are not checked",
    fullPath,
    "slash in address",
    invalid,
    /^404 ResourceNotFound$|^500$/,
  ),
  notListed(
    "§1.5: keys in addresses are not checked",
    fullPath,
    "control in address",
    /^400 OutOfRangeInput$/,
    /^404 ResourceNotFound$/,
  ),
  notListed(
    "§3.1: keys in one order only",
    "takes the first text for the partition",
    "other order",
    /^200$/,
    /^404 ResourceNotFound$/,
  ),
  notListed(
    "§3.7: the secondary can be written to",
    "has no secondary: only its name",
    "secondary write",
    /^403 InsufficientAccountPermissions$/,
    /^20[14]$/,
  ),
];

const authorization: readonly KnownDifference[] = [
  listed("#23: another code", "unsigned", unauthenticated, unauthorized),
  notListed(
    "§7.5: another code",
    "has one code for all credentials that do not hold",
    /^(?:wrong signature|wrong|expired|other table|no policy|policy time)$/,
    unauthenticated,
    unauthorized,
  ),
  notListed(
    "§7.5: another code",
    "has one code for all credentials that do not hold",
    "malformed authorization",
    /^400 InvalidAuthenticationInfo$/,
    unauthorized,
  ),
  listed("#22: no ranges of keys", "range", unauthorized, /^20[04]$/),
  notListed(
    "§7.5: here http is as good as https",
    "is asked over a network, the store in the page is not",
    "protocol",
    /^200$/,
    /^403 AuthorizationProtocolMismatch$/,
  ),

  notListed(
    "§7.2: what a policy and a signature both say is the policy's",
    "overwrites the signature's fields without looking",
    "said twice",
    unauthenticated,
    accepted,
  ),
  notListed(
    "§3.4: a policy must say everything",
    "its generated deserializer requires all three",
    "partial policy",
    /^204$/,
    nameless,
  ),
  notListed(
    "§7.2: no policy to complete",
    "has not stored it, see the one before",
    "partial policy",
    /^20[0-4]$|^403 Auth\w+$/,
    unauthorized,
  ),

  notListed(
    "§7.4: one letter lets a whole batch in",
    "asks for any of its letters once, and for none per operation",
    "letters of a batch",
    /^202 \[403 AuthorizationPermissionMismatch\]$/,
    done,
  ),
  listed("#22: no ranges of keys", "range in a batch", /^202 \[403 AuthorizationFailure\]$/, done),
  notListed(
    "§7.4: any type of resource lets a batch in",
    "asks for any of s, c, o",
    "type of a batch",
    /^403 AuthorizationResourceTypeMismatch$/,
    done,
  ),
  notListed(
    "§7.5: a batch may name other tables than its signature",
    "does not look at tn",
    "table of a batch",
    /^(?:202 \[)?403 AuthenticationFailed\]?$/,
    done,
  ),
  notListed(
    "§7.2: signatures of tables do not let batches in",
    "checks them as for a table called $batch; the other scenarios sign that for it",
    "signature of a batch",
    /^202 \[(?:20[0-4](?:,20[0-4])*|403 AuthorizationPermissionMismatch)\]$/,
    unauthorized,
  ),
];

const documents: readonly KnownDifference[] = [
  notListed(
    "§3.4: no code",
    "its generated deserializer gives up before a handler can name an error",
    "no XML",
    /^400 InvalidXmlDocument$/,
    nameless,
  ),
  notListed(
    "§3.4: another code",
    "has one code for all of an XML document",
    "bad permission",
    /^400 InvalidXmlNodeValue$/,
    /^400 InvalidXmlDocument$/,
  ),
  notListed(
    "§3.6: no code",
    "its generated deserializer gives up before a handler can name an error",
    "bad node",
    /^400 InvalidXmlNodeValue$/,
    nameless,
  ),
  notListed(
    "§3.6: no limit",
    "does not count rules",
    "many rules",
    /^400 InvalidXmlDocument$/,
    /^202$/,
  ),
];

const batches: readonly KnownDifference[] = [
  notListed("§6.1: fails", "looks for a boundary that is not there", "no group", invalid, /^500$/),
  listed(
    "#21: partitions are not compared",
    "other partition",
    /^202 \[400 CommandsInBatchActOnDifferentPartitions\]$/,
    done,
  ),
  {
    reason: "§6.1: in a batch an empty key is a missing one",
    unlisted: "tests keys for truth",
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
