import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { eventTypes, hookEvents } from './events';

/** The texts of an array of the server. */
function listed(file: string, name: string): string[] {
  const source = readFileSync(new URL(`../../../core/model/${file}`, import.meta.url), 'utf8');
  return [
    ...source
      .slice(source.indexOf(`${name} = {`))
      .split('};', 1)[0]!
      .matchAll(/"([^"]+)"/g),
  ].map((match) => match[1]!);
}

it('are those of the server', () => {
  expect(listed('hook_event.cc', 'kNames')).toEqual([...hookEvents]);
  expect(listed('event.h', 'kEventTypes')).toEqual([...eventTypes]);
});
