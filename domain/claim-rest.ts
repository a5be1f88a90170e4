const firstMs = 1000;
const longestMs = 60_000;

/**
 * How long a workflow waits at least before it claims its post once more, in milliseconds: whatever the row and the
 * messages say, it does not ask in a loop.
 *
 * @param before How many claims it made shortly before this one.
 */
export const claimRestMs = (before: number): number => Math.min(firstMs * 2 ** before, longestMs);

/** A claim so long after the rest of the one before it, in milliseconds, is not made in haste: counting begins anew. */
export const calmAfterMs = longestMs;
