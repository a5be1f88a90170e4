import { isText } from '../../domain/texts.ts';

/** In characters: longer than any network takes. */
export const longestAltText = 5000;

/** What is wrong with an alt text, for a message; null when nothing is. An empty one is none. */
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
