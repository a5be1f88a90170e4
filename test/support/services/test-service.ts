/** A part of the outside world that test files share. `env` tells them where it is. */
export type TestService = {
  readonly env: Readonly<Record<string, string>>;
  stop(): Promise<void>;
};
