/** Something the user can do something about: its message is shown without a stack. */
export class InstallError extends Error {
  name = 'InstallError';
}
