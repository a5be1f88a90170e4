import { eachSent, nameOf, type Evidence, type Sent, type Violation } from './evidence.ts';

/** Checks on the networks alone: posts that are live twice, and broken threads. */
export function checkNetworks(evidence: Evidence): Violation[] {
  return [
    ...checkOnce(evidence),
    ...eachSent(evidence).flatMap((sent) => checkOrder(evidence, sent)),
  ];
}

function checkOnce({ found, channels }: Evidence): Violation[] {
  const byPart = Map.groupBy(found, ({ marker, channel, part }) => `${marker} ${channel} ${part}`);
  return [...byPart.values()].flatMap((copies): Violation[] => {
    const [first] = copies;
    return first && copies.length > 1
      ? [
          {
            invariant: 'posts or parts that are live twice',
            marker: first.marker,
            what: `part ${first.part} is live ${copies.length} times on ${channels[first.channel]?.platform} channel ${first.channel}: ${copies.map(({ url }) => url).join(' ')}`,
          },
        ]
      : [];
  });
}

/** Each part is a reply to the one before it; the first part replies to none. */
function checkOrder(evidence: Evidence, sent: Sent): Violation[] {
  const idOf = new Map(sent.found.map(({ part, id }) => [part, id]));
  const wrong = sent.found.filter(
    ({ part, parentId }) => parentId !== (idOf.get(part - 1) ?? null),
  );
  const gaps = sent.found.filter(({ part }) => part > 1 && !idOf.has(part - 1));
  return wrong.length + gaps.length === 0
    ? []
    : [
        {
          invariant: 'thread parts out of order',
          marker: sent.history.plan.marker,
          what: `${nameOf(evidence, sent)}: ${[...wrong, ...gaps].map(({ part, parentId }) => `part ${part} replies to ${parentId}`).join(', ')}`,
        },
      ];
}
