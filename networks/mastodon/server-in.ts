import { pasted } from '../../domain/texts.ts';

/**
 * The server in what people type when they are asked for it: its name or its address, their handle
 * (`@me@mastodon.example`), the address of their profile.
 */
export function serverIn(typed: string): string {
  const given = pasted(typed);
  const handle = /^@?[^@\s\/:]+@(?<server>[^@\s\/]+)$/v.exec(given);
  return (handle?.groups?.['server'] ?? given.replace(/\/@[^\/]*\/?$/v, '')).replace(/\.$/v, '');
}
