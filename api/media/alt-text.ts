import { isText } from '../../domain/texts.ts';

/** In characters; longer than any network allows. */
export const longestAltText = 5000;

/** Returns the problem of an alt text as a message, or null. An empty text means none. */
export function altTextFault(text: string): string | null {
  if (text !== '' && text.trim() === '') {
    return 'must not be blank';
  }

  if (!isText(text)) {
    return 'must be text: no NUL, no half of a surrogate pair';
  }

  const { length } = [...text];
  return length > longestAltText
    ? `must not have more than ${longestAltText} characters, and this has ${length}`
    : null;
}
