import type { Egress, EgressRequest } from '../../runtime/egress/egress.ts';

/**
 * A way out that asks other things of its requests than their caller: such as more patience, so that no request
 * which a test holds gives up, however slow the machine.
 */
export const asking = (
  egress: Egress,
  change: (request: EgressRequest) => Partial<EgressRequest>,
): Egress => ({
  ...egress,
  request: (request) => egress.request({ ...request, ...change(request) }),
});

/** The same, with so much patience that no request gives up before its test does. */
export const patient = (egress: Egress): Egress => asking(egress, () => ({ timeoutMs: 600_000 }));
