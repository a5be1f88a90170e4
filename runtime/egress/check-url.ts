import { EgressError } from './egress-error.ts';
import { findAddresses, type EgressGuard } from './find-addresses.ts';
import { problemInPublic, targetProblem, type OperatorLists } from './target-policy.ts';
import { markOwn, normalUrl, parseUrl, type RequestTarget } from './target.ts';

const maxLength = 2048;

/**
 * Checks the text of a URL that a user typed. Does not query DNS.
 *
 * @returns null, or the reason for the refusal in a sentence for the user.
 */
export function checkUrl(url: string, lists: OperatorLists): string | null {
  const checked = checkText(url, lists);
  return typeof checked === 'string' ? checked : null;
}

/**
 * Checks a URL and its addresses in DNS, so that the user learns of a bad address immediately.
 *
 * Accepts a public name that DNS cannot resolve now: receivers are often deployed later, and every connection checks
 * the addresses again. Refuses it when only an allowed address could permit it (plain http, a local name, an odd port).
 *
 * @param guard With `ownUrl`, the service's own host is refused too.
 * @returns null, or the reason for the refusal in a sentence for the user, within about 5 s.
 */
export async function checkDestination(
  url: string,
  guard: EgressGuard & { readonly ownUrl?: string },
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

/** Returns the target, or the reason for the refusal. Punycode may be longer than the typed name. */
function checkText(
  url: string,
  { ownUrl, ...lists }: OperatorLists & { readonly ownUrl?: string },
): RequestTarget | string {
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
