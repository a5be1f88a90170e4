/** A service that test files share; `env` has its address or path. */
export type TestService = {
  readonly env: Readonly<Record<string, string>>;
  stop(): Promise<void>;
};
