import type { AllowList } from './allow-list.ts';
import { EgressError } from './egress.ts';
import { findAddresses, type Guard } from './find-addresses.ts';
import { judgeTarget } from './judge-target.ts';
import { problemInPublic } from './public-rules.ts';
import { parseUrl } from './target.ts';

const maxLength = 2048;

/**
 * Whether a URL that a user typed may be asked for, as far as its text says. Asks no DNS.
 *
 * @returns null, or the reason against it in a sentence for the user.
 */
export function checkUrl(url: string, allow: AllowList): string | null {
  if (url.length > maxLength) {
    return `The URL is longer than ${maxLength} characters.`;
  }

  const parsed = parseUrl(url);
  return 'refusal' in parsed ? parsed.refusal : judgeTarget(parsed.target, allow);
}

/**
 * The same with DNS, so that a bad address is refused while the user still looks.
 *
 * A public name that cannot be resolved now is accepted: receivers are often deployed later, and the addresses are
 * judged again at every connection. One that only allowed addresses could excuse (plain http, a local name, an odd
 * port) is not.
 *
 * @returns null, or the reason against it in a sentence for the user, within about 5 s.
 */
export async function checkDestination(url: string, guard: Guard): Promise<string | null> {
  const refusal = checkUrl(url, guard.allow);
  const parsed = parseUrl(url);
  if (refusal !== null || 'refusal' in parsed) {
    return refusal;
  }

  try {
    await findAddresses(parsed.target, guard);
    return null;
  } catch (error) {
    if (!(error instanceof EgressError)) {
      throw error;
    }

    return error.code === 'dns_error' ? problemInPublic(parsed.target) : error.message;
  }
}
