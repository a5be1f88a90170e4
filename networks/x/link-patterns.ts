import twitterText from 'twitter-text';

/** Its types misspell one. */
type Patterns = typeof twitterText.regexen & { readonly validUrlQueryEndingChars: RegExp };

// Without the flags u and v, as the library's own: a pattern sees UTF-16 code units.
const regexen = twitterText.regexen as Patterns;
const ending = `(?:${regexen.validGTLD.source}|${regexen.validCCTLD.source}|${regexen.validPunycode.source})`;
const ofDomain = regexen.validDomainChars.source;
const ofAsciiDomain = `[\\-a-z0-9${regexen.latinAccentChars.source}]`;

/** A code unit that a label of a domain may begin and end with: also of Chinese, or of an emoji. */
export const domainUnit = new RegExp(ofDomain, 'i');

/** What may be labels of a domain, each at its full length. */
export const labels = new RegExp(`(?:[_\\-]|${ofDomain})+`, 'gi');

/** The last label of a domain, where that is one of those that there are: `com`, `рф`. */
export const domainEnding = new RegExp(ending, 'iy');

/** A code unit behind which a link may begin. */
export const unitBefore = new RegExp(`^${regexen.validUrlPrecedingChars.source}$`, 'i');

const [ofPath, balanced, ofPathEnd, ofQuery, ofQueryEnd] = [
  regexen.validGeneralUrlPathChars.source,
  regexen.validUrlBalancedParens.source,
  regexen.validUrlPathEndingChars.source,
  regexen.validUrlQueryChars.source,
  regexen.validUrlQueryEndingChars.source,
];

/**
 * As long a path as the library takes with its `validUrlPath` again and again, which is quadratic time for `(a)(a)(a)`.
 *
 * The first time it goes to the last unit of all that a path may end with; brackets that follow at once are taken too.
 */
const path = `(?:${ofPath}*(?:${balanced}${ofPath}*)*(?!\\()(?:${ofPathEnd}))?(?:${balanced})*`;

/** What a link has after its domain: port, path and query. The group is the path. */
export const afterDomain = new RegExp(
  `(?::${regexen.validPortNumber.source})?(\\/${path})?(?:\\?${ofQuery}*${ofQueryEnd})?`,
  'iy',
);

/**
 * Domains of ASCII and of Latin letters with accents, within a domain.
 *
 * The library's `validAsciiDomain` tries again from each label, which takes quadratic time where there is no ending. This
 * tries only from the first: what goes on to no ending from there, does not from a later one.
 */
export const asciiDomains = new RegExp(
  `(?<!${ofAsciiDomain}\\.?)${ofAsciiDomain}(?:${ofAsciiDomain}|\\.)*\\.${ending}`,
  'gi',
);
