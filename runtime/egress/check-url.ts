import { EgressError } from './egress-error.ts';
import { findAddresses, type Guard } from './find-addresses.ts';
import { problemInPublic, targetProblem, type OperatorLists } from './target-policy.ts';
import { markOwn, normalUrl, parseUrl, type Target } from './target.ts';

const maxLength = 2048;

/**
 * Whether a URL that a user typed may be asked for, as far as its text says. Asks no DNS.
 *
 * @returns null, or the reason against it in a sentence for the user.
 */
export function checkUrl(url: string, lists: OperatorLists): string | null {
  const checked = checkText(url, lists);
  return typeof checked === 'string' ? checked : null;
}

/**
 * The same with DNS, so that a bad address is refused while the user still looks.
 *
 * A public name that cannot be resolved now is accepted: receivers are often deployed later, and the addresses are
 * checked again at every connection. One that only allowed addresses could excuse (plain http, a local name, an odd
 * port) is not.
 *
 * @param guard With `ownUrl`, the service's own host is refused too.
 * @returns null, or the reason against it in a sentence for the user, within about 5 s.
 */
export async function checkDestination(
  url: string,
  guard: Guard & { readonly ownUrl?: string },
): Promise<string | null> {
  const target = checkText(url, guard);
  if (typeof target === 'string') {
    return target;
  }

  try {
    await findAddresses(target, guard);
    return null;
  } catch (error) {
    if (!(error instanceof EgressError)) {
      throw error;
    }

    return error.code === 'dns_error' ? problemInPublic(target) : error.message;
  }
}

/** Where a URL leads, or the reason against it. Punycode may be longer than what was typed. */
function checkText(
  url: string,
  { ownUrl, ...lists }: OperatorLists & { readonly ownUrl?: string },
): Target | string {
  const tooLong = `The URL is longer than ${maxLength} characters.`;
  if (url.length > maxLength) {
    return tooLong;
  }

  const parsed = parseUrl(url);
  if ('refusal' in parsed) {
    return parsed.refusal;
  }

  const target = markOwn(parsed.target, ownUrl);
  return targetProblem(target, lists) ?? (normalUrl(url).length > maxLength ? tooLong : target);
}
