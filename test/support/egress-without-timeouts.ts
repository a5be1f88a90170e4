import type { Egress, EgressRequest } from '../../runtime/egress/egress.ts';

/** Egress that changes each request's options, for example its timeout. */
export const withOptions = (
  egress: Egress,
  change: (request: EgressRequest) => Partial<EgressRequest>,
): Egress => ({
  ...egress,
  request: (request) => egress.request({ ...request, ...change(request) }),
});

/** With a timeout that outlasts every test, so that requests which a test holds do not end first. */
export const withoutTimeouts = (egress: Egress): Egress =>
  withOptions(egress, () => ({ timeoutMs: 600_000 }));
