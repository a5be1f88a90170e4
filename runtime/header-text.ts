import { isUtf8 } from 'node:buffer';

/**
 * Decodes a header as UTF-8, which clients and servers send; Node decodes headers as Latin-1.
 *
 * @returns the value unchanged when its bytes are not UTF-8.
 */
export function headerText(value: string): string {
  const bytes = Buffer.from(value, 'latin1');
  return isUtf8(bytes) ? bytes.toString('utf8') : value;
}
