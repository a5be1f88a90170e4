/** How often each race is run. */
export const rounds = 200;

/** Runs a race in all its rounds, `lanes` of them at a time. */
export async function inRounds(
  race: (round: number) => Promise<void>,
  { lanes = 4 }: { lanes?: number } = {},
): Promise<void> {
  let next = 1;
  const lane = async (): Promise<void> => {
    while (next <= rounds) {
      const round = next;
      next += 1;
      await race(round);
    }
  };
  await Promise.all(Array.from({ length: lanes }, lane));
}
