import twitterText from 'twitter-text';

/** The library's types misspell one name. */
type Patterns = typeof twitterText.regexen & { readonly validUrlQueryEndingChars: RegExp };

// Without the flags u and v, like the library's own patterns, which match UTF-16 code units.
const regexen = twitterText.regexen as Patterns;
const ending = `(?:${regexen.validGTLD.source}|${regexen.validCCTLD.source}|${regexen.validPunycode.source})`;
const ofDomain = regexen.validDomainChars.source;
const ofAsciiDomain = `[\\-a-z0-9${regexen.latinAccentChars.source}]`;

/** A code unit with which a label of a domain may begin and end, including Chinese characters and emoji. */
export const domainUnit = new RegExp(ofDomain, 'i');

/** Possible labels of a domain, at full length. */
export const labels = new RegExp(`(?:[_\\-]|${ofDomain})+`, 'gi');

/** A known top-level domain: `com`, `рф`. */
export const domainEnding = new RegExp(ending, 'iy');

/** A code unit after which a link may begin. */
export const unitBefore = new RegExp(`^${regexen.validUrlPrecedingChars.source}$`, 'i');

const [ofPath, balanced, ofPathEnd, ofQuery, ofQueryEnd] = [
  regexen.validGeneralUrlPathChars.source,
  regexen.validUrlBalancedParens.source,
  regexen.validUrlPathEndingChars.source,
  regexen.validUrlQueryChars.source,
  regexen.validUrlQueryEndingChars.source,
];

/**
 * Matches as long a path as repeated matches of the library's `validUrlPath`, which take quadratic time for
 * `(a)(a)(a)`.
 *
 * The first part extends to the last possible end of a path; brackets that follow directly belong to it too.
 */
const path = `(?:${ofPath}*(?:${balanced}${ofPath}*)*(?!\\()(?:${ofPathEnd}))?(?:${balanced})*`;

/** The rest of a link after its domain: port, path and query. The group is the path. */
export const afterDomain = new RegExp(
  `(?::${regexen.validPortNumber.source})?(\\/${path})?(?:\\?${ofQuery}*${ofQueryEnd})?`,
  'iy',
);

/**
 * Domains of ASCII and of accented Latin letters, within a domain.
 *
 * The library's `validAsciiDomain` tries every label, which takes quadratic time when no ending follows. This pattern
 * tries only the first: if no ending follows from there, none follows from a later label.
 */
export const asciiDomains = new RegExp(
  `(?<!${ofAsciiDomain}\\.?)${ofAsciiDomain}(?:${ofAsciiDomain}|\\.)*\\.${ending}`,
  'gi',
);
