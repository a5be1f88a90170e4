/** Settings that allow a process all kinds of requests to these ports of this machine. */
export function opened(ports: readonly number[]): Record<string, string> {
  const list = ports.map((port) => `127.0.0.1/32:${port}`).join(',');
  return {
    PUNCTUAL_EGRESS_ALLOW_NETWORKS: list,
    PUNCTUAL_EGRESS_ALLOW_WEBHOOKS: list,
    PUNCTUAL_EGRESS_ALLOW_DOWNLOADS: list,
  };
}
