import { pasted } from '../../domain/texts.ts';

/**
 * Finds the server in a person's input: its name or URL, a handle (`@me@mastodon.example`), or the URL of a profile.
 */
export function serverNameIn(typed: string): string {
  const given = pasted(typed);
  const handle = /^@?[^@\s\/:]+@(?<server>[^@\s\/]+)$/v.exec(given);
  return (handle?.groups?.['server'] ?? given.replace(/\/@[^\/]*\/?$/v, '')).replace(/\.$/v, '');
}
