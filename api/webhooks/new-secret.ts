import { signingSecretPurpose } from '../../db/sealing-purposes.ts';
import type { KeptSecret } from '../../domain/signing-secrets.ts';
import { newSigningSecret } from '../../runtime/token.ts';
import type { ApiDeps } from '../deps.ts';

/** A new signing secret of this endpoint: itself, to be shown once, and what is kept of it. */
export function newSecret(
  { sealer }: ApiDeps,
  endpointId: string,
): { readonly secret: string; readonly kept: KeptSecret } {
  const secret = newSigningSecret();
  const sealed = sealer.seal(secret, signingSecretPurpose(endpointId));
  return { secret, kept: { sealed, hint: `whsec_…${secret.slice(-4)}` } };
}
