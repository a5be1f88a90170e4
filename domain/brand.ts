/** The product on whose behalf people connect accounts, as the pages of links show it. Null fields have no value. */
export type Brand = {
  readonly name: string | null;
  readonly logo_url: string | null;
  readonly color: string | null;
  readonly terms_url: string | null;
  readonly privacy_url: string | null;
};

/** In UTF-16 code units. */
export const longestBrandText = 500;

const longestName = 100;

function readName(given: string): string | null {
  const name = given.trim();
  const isWrong =
    name.length > longestName ||
    !name.isWellFormed() ||
    /^[\p{Z}\p{C}]*$|[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/v.test(name);
  return isWrong ? null : name;
}

/** `URL` accepts hosts with `*`, `;` and `,`, which have a meaning in a Content-Security-Policy. */
function readAddress(given: string): string | null {
  const url = given.length > longestBrandText || /[\s\p{C}]/v.test(given) ? null : URL.parse(given);
  return url?.protocol === 'https:' &&
    /^[a-z0-9_.\-]+$/v.test(url.hostname) &&
    url.username === '' &&
    url.password === ''
    ? url.href
    : null;
}

const readColor = (given: string): string | null =>
  /^#[0-9a-f]{6}$/iv.test(given) ? given.toLowerCase() : null;

const address = {
  form: `an https address of at most ${longestBrandText} characters with a host name and without a user, such as https://app.example.com/terms`,
  read: readAddress,
};

/** The form of each field, and a reader that returns its normal form, or null for a wrong value. */
export const brandFields: Readonly<
  Record<keyof Brand, { readonly form: string; readonly read: (given: string) => string | null }>
> = {
  name: {
    form: `a name of at most ${longestName} characters that is not blank and has no control characters`,
    read: readName,
  },
  logo_url: address,
  color: { form: 'a colour such as #1f5fbf', read: readColor },
  terms_url: address,
  privacy_url: address,
};

export const brandFieldNames = Object.keys(brandFields) as (keyof Brand)[];

export const brandOf = (valueOf: (field: keyof Brand) => string | null | undefined): Brand =>
  Object.fromEntries(brandFieldNames.map((field) => [field, valueOf(field) ?? null])) as Brand;
