import { isUtf8 } from 'node:buffer';

/**
 * The text of a header. Node decodes headers as Latin-1, and clients and servers send UTF-8.
 *
 * @returns the value unchanged when its bytes are not UTF-8.
 */
export function headerText(value: string): string {
  const bytes = Buffer.from(value, 'latin1');
  return isUtf8(bytes) ? bytes.toString('utf8') : value;
}
