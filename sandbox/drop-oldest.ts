/** Removes the oldest entries until at most `most` are left. */
export function dropOldest(
  kept: { readonly size: number; keys(): Iterable<string>; delete(key: string): boolean },
  most: number,
): void {
  for (const oldest of kept.keys()) {
    if (kept.size <= most) {
      return;
    }
    kept.delete(oldest);
  }
}
