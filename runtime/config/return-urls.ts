import { text, type Env } from './read-values.ts';

const setting = 'PUNCTUAL_CONNECT_RETURN_URLS';

/**
 * The addresses to which a person may be sent back after an account was connected, comma separated. Without the list
 * nobody is: a link that leads anywhere would make this service's name vouch for strangers.
 *
 * @param problems Takes a sentence for each that is none.
 */
export function returnUrls(env: Env, problems: string[]): readonly URL[] {
  const given = text(env, setting, '').split(',');
  return given
    .map((one) => one.trim())
    .filter((one) => one !== '')
    .flatMap((one) => {
      const url = URL.parse(one);
      if (url && mayReturnTo(url) && url.search === '') {
        return [url];
      }

      problems.push(
        `${setting} must list https addresses without a query, such as https://app.example.com/accounts (http only of this machine), not "${one}".`,
      );
      return [];
    });
}

/** Whether an address is of a kind to which browsers are sent back, whoever named it. */
export const mayReturnTo = ({ protocol, hostname, username, password, hash }: URL): boolean =>
  (protocol === 'https:' || (protocol === 'http:' && isLoopback(hostname))) &&
  username === '' &&
  password === '' &&
  hash === '';

/** @param hostname As `URL` writes it: an IPv6 address in brackets, an IPv4 address in full. */
const isLoopback = (hostname: string): boolean =>
  hostname === 'localhost' || hostname === '[::1]' || /^127(?:\.\d{1,3}){3}$/v.test(hostname);
