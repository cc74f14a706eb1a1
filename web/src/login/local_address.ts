/** The address to go to after the login. Only paths of this server: "//host" and "/\host" would leave it. */
export function localAddress(next: string | undefined): string {
  // Browsers drop control characters from addresses before they look at the slashes.
  const isLocal = next !== undefined && /^\/(?![/\\])/.test(next) && ![...next].some((c) => c < ' ');
  return isLocal ? next : '/';
}
