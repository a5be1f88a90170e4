/** Of a file, in bytes: 200 MB (specification, Limits) in the larger of the two ways to read it. */
export const maxFileBytes = 200 * 1024 * 1024;

/** What to say of one that is larger. */
export const tooLarge = 'The file is larger than 200 MB.';
