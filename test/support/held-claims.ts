import { within } from './within.ts';

const holds = new Map<string, { readonly asked: () => void; readonly released: Promise<void> }>();

/**
 * Holds up the claims of a post from now on, in workers of this process that call {@link untilReleased}.
 *
 * @returns `asked` resolves when a claim begins to wait; it throws after 100 s without one.
 */
export function holdClaims(postId: string): {
  readonly asked: () => Promise<void>;
  readonly release: () => void;
} {
  const asked = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  holds.set(postId, { asked: asked.resolve, released: released.promise });
  return {
    asked: () => within(asked.promise, () => 'No worker claims the post.'),
    release: released.resolve,
  };
}

/** Waits, before a claim, until the test releases the post. */
export async function untilReleased(postId: string): Promise<void> {
  const hold = holds.get(postId);
  hold?.asked();
  await hold?.released;
}
