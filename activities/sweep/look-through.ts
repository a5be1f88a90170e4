import type { WorkflowState } from '../../domain/workflow-state.ts';
import { sideBySide } from '../../runtime/side-by-side.ts';

/** Temporal is asked of so many rows at once. */
const width = 10;

/** How many rows of a kind one sweep looks at: `batchSize` times `maxBatches`. The rest waits for the next minute. */
const batchSize = 50;
const maxBatches = 6;

/** So many rows without an answer mean that Temporal is away: it is not asked any more this minute. */
const patience = 5;

export type LookedThrough = { readonly looked: number; readonly unanswered: number };

type Answer = Exclude<WorkflowState, 'unknown'>;

type Search<Row> = {
  /** Claims rows for this sweep alone: no other one gets them for a while. */
  readonly take: (limit: number) => Promise<readonly Row[]>;
  readonly ask: (row: Row) => Promise<WorkflowState>;
  readonly judge: (row: Row, state: Answer) => Promise<void>;
};

/** Asks Temporal about rows, side by side and a bounded number. Of what it does not answer nothing is concluded. */
export async function lookThrough<Row>({ take, ask, judge }: Search<Row>): Promise<LookedThrough> {
  const so = { looked: 0, unanswered: 0 };
  const isOver = (): boolean => so.unanswered >= patience;
  for (let batch = 0; batch < maxBatches && !isOver(); batch += 1) {
    const rows = await take(batchSize);
    await sideBySide(rows, width, async (row) => {
      const state = isOver() ? 'unknown' : await ask(row);
      if (state === 'unknown') {
        so.unanswered += 1;
        return;
      }

      so.looked += 1;
      await judge(row, state);
    });
    if (rows.length < batchSize) {
      break;
    }
  }

  return so;
}
