import type { Whole } from '../whole/start-whole.ts';

/** Where the time went between a post's time and its request, in milliseconds. */
export type Steps = {
  /** Temporal wakes the workflow, it claims the post, and a try begins. */
  readonly toTry: number;
  /** The try gets ready, and commits its intent. */
  readonly toIntent: number;
  /** The request is on its way. */
  readonly toNetwork: number;
};

type Row = {
  body: string;
  due_at: Date | string;
  tried_at: Date | string;
  sending_at: Date | string;
};

/** What the database says of each post that went out. */
export async function readSteps(
  { orm }: Whole,
  arrivals: ReadonlyMap<string, number>,
): Promise<Steps[]> {
  const rows = await orm.em.fork().execute<Row[]>(
    `select p.body, p.scheduled_at as due_at, pc.tried_at, a.sending_at
     from posts p
     join post_channels pc on pc.post_id = p.id and pc.workspace_id = p.workspace_id
     join post_parts a on a.post_channel_id = pc.id and a.workspace_id = pc.workspace_id
     where a.sending_at is not null`,
  );
  return rows.flatMap(({ body, ...row }) => {
    const arrivedMs = arrivals.get(body);
    const [due = 0, tried = 0, sending = 0] = [row.due_at, row.tried_at, row.sending_at].map((at) =>
      new Date(at).getTime(),
    );
    return arrivedMs === undefined
      ? []
      : [{ toTry: tried - due, toIntent: sending - tried, toNetwork: arrivedMs - sending }];
  });
}
