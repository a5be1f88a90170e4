import { hash } from 'node:crypto';
import { normalized } from '../../domain/texts.ts';

/** A hash of a channel's texts, without regard to spaces; null without text. */
export function hashOfTexts(texts: readonly string[]): string | null {
  const words = texts.map((text) => normalized(text, 'NFC').replaceAll(/\s+/gv, ' ').trim());
  const digest = hash('sha256', JSON.stringify(words), 'buffer');
  return words.some(Boolean) ? digest.readBigInt64BE().toString() : null;
}
