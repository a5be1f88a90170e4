import { textSetting, type Env } from './read-values.ts';

const setting = 'PUNCTUAL_CONNECT_RETURN_URLS';

/**
 * The allowed redirect targets after an account was connected, comma separated. Empty by default: an open redirect
 * would lend this service's name to phishing links.
 *
 * @param problems Gets a sentence for each invalid URL.
 */
export function returnUrls(env: Env, problems: string[]): readonly URL[] {
  const given = textSetting(env, setting, '').split(',');
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

/** Whether browsers may be redirected to this kind of URL at all. */
export const mayReturnTo = ({ protocol, hostname, username, password, hash }: URL): boolean =>
  (protocol === 'https:' || (protocol === 'http:' && isLoopback(hostname))) &&
  username === '' &&
  password === '' &&
  hash === '';

/** @param hostname As `URL` writes it: an IPv6 address in brackets, an IPv4 address in full. */
const isLoopback = (hostname: string): boolean =>
  hostname === 'localhost' || hostname === '[::1]' || /^127(?:\.\d{1,3}){3}$/v.test(hostname);
