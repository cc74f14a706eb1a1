import { describe, expect, it } from 'vitest';
import { chosenSettings } from './chosen_settings';

const setting = (name: string, value: string | undefined, isDefault: boolean, meaning = '') => ({
  name,
  ...(value === undefined ? {} : { value }),
  secret: value === undefined,
  default: isDefault,
  meaning,
});
const all = [
  setting('listen', '127.0.0.1:8000', true, 'Address'),
  setting('gc.interval_hours', '0', false, 'Hours between collections'),
  setting('auth.master_key', undefined, false),
];
const names = (find: string, changedOnly = false) => chosenSettings(all, find, changedOnly).map((one) => one.name);

describe('settings', () => {
  it('begin with those that were changed', () => {
    expect(names('')).toEqual(['gc.interval_hours', 'auth.master_key', 'listen']);
    expect(names('', true)).toEqual(['gc.interval_hours', 'auth.master_key']);
  });
  it('are found by each word in name, value and meaning', () => {
    expect(names('GC hours')).toEqual(['gc.interval_hours']);
    expect(names('8000')).toEqual(['listen']);
    expect(names('8000', true)).toEqual([]);
    expect(names('nothing like it')).toEqual([]);
  });
});
