/** A new key of idempotency: a second press, or a lost answer, does nothing twice. crypto.randomUUID() exists on TLS and loopback only. */
export function randomKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');
}
