import type { Address } from './address.ts';
import { isPublicAddress } from './address-policy.ts';
import { isAllowed, opensPort, type AllowList } from './allow-list.ts';
import { behindNat64, type Nat64Prefixes } from './nat64.ts';
import { problemInPublic } from './public-rules.ts';
import type { Target } from './target.ts';

/** What the operator says about addresses. */
export type Judging = { readonly allow: AllowList; readonly nat64?: Nat64Prefixes };

/**
 * Whether a target may be dialled at this address; null, or the reason in a sentence for the URL's author.
 *
 * Two kinds pass: an address that the operator allows at this port, whatever the URL looks like; and a public
 * address of a target that looks public. So plain http, a local name or an odd port needs allowed addresses. An
 * address behind NAT64 is judged as the IPv4 address that it leads to.
 */
export function judgeAddress(
  target: Target,
  address: Address,
  { allow, nat64 = [] }: Judging,
): string | null {
  const judged = behindNat64(address, nat64);
  if (isAllowed(allow, judged, target.port)) {
    return null;
  }

  return (
    problemInPublic(target) ??
    (isPublicAddress(judged) ? null : 'The host of the URL does not lead to a public address.')
  );
}

/** Judges as much of a target as is known before DNS is asked; null, or the reason as in `judgeAddress`. */
export function judgeTarget(target: Target, judging: Judging): string | null {
  if (target.address) {
    return judgeAddress(target, target.address, judging);
  }

  return opensPort(judging.allow, target.port) ? null : problemInPublic(target);
}
