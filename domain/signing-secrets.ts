/** How long a replaced signing secret still signs beside the new one, in milliseconds. */
export const rotationOverlapMs = 24 * 3_600_000;

/** A stored signing secret: sealed, and the few characters that may be shown. */
export type KeptSecret = { readonly sealed: string; readonly hint: string };

/** The secrets in an endpoint's row. */
export type StoredSecrets = {
  readonly sealedSecret: string;
  readonly secretHint: string;
  readonly nextSealedSecret: string | null;
  readonly nextSecretHint: string | null;
  readonly rotatesAt: Date | null;
};

export type SigningSecrets = {
  /** Makes `Service-Signature`. */
  readonly current: KeptSecret;
  /** Makes `Service-Signature-Next` until `rotatesAt`, and `Service-Signature` from then on. */
  readonly next: (KeptSecret & { readonly rotatesAt: Date }) | null;
};

/**
 * The secrets that sign now. The new secret takes over at its time without a write to the row, so all code that signs
 * or shows a secret must call this.
 */
export function secretsOf(stored: StoredSecrets, now: Date): SigningSecrets {
  const { nextSealedSecret, nextSecretHint, rotatesAt } = stored;
  const current = { sealed: stored.sealedSecret, hint: stored.secretHint };
  if (nextSealedSecret === null || nextSecretHint === null || rotatesAt === null) {
    return { current, next: null };
  }

  const next = { sealed: nextSealedSecret, hint: nextSecretHint };
  return rotatesAt <= now
    ? { current: next, next: null }
    : { current, next: { ...next, rotatesAt } };
}
