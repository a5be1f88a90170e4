const holds = new Map<string, { readonly asked: () => void; readonly released: Promise<void> }>();

/**
 * Holds up the claims of a post from now on, by workers of this process that ask {@link untilReleased}.
 *
 * @returns `asked` resolves when its workflow makes one.
 */
export function holdClaims(postId: string): {
  readonly asked: Promise<void>;
  readonly release: () => void;
} {
  const asked = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  holds.set(postId, { asked: asked.resolve, released: released.promise });
  return { asked: asked.promise, release: released.resolve };
}

/** What a claim waits for before it begins. */
export async function untilReleased(postId: string): Promise<void> {
  const hold = holds.get(postId);
  hold?.asked();
  await hold?.released;
}
