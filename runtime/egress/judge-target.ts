import type { Address } from './address.ts';
import { isPublicAddress } from './address-policy.ts';
import { isAllowed, opensPort, type AllowList } from './allow-list.ts';
import { problemInPublic } from './public-rules.ts';
import type { Target } from './target.ts';

/**
 * Whether a target may be dialled at this address; null, or the reason in a sentence for the URL's author.
 *
 * Two kinds pass: an address that the operator allows at this port, whatever the URL looks like; and a public
 * address of a target that looks public. So plain http, a local name or an odd port needs allowed addresses.
 */
export function judgeAddress(target: Target, address: Address, allow: AllowList): string | null {
  if (isAllowed(allow, address, target.port)) {
    return null;
  }

  return (
    problemInPublic(target) ??
    (isPublicAddress(address) ? null : 'The host of the URL does not lead to a public address.')
  );
}

/** Judges as much of a target as is known before DNS is asked; null, or the reason as in `judgeAddress`. */
export function judgeTarget(target: Target, allow: AllowList): string | null {
  if (target.address) {
    return judgeAddress(target, target.address, allow);
  }

  return opensPort(allow, target.port) ? null : problemInPublic(target);
}
