import type { components } from '@/api/schema';

type Setting = components['schemas']['Setting'];

/** The settings that contain each word of `find`; those that differ from their default first, or alone. */
export function chosenSettings(settings: readonly Setting[], find: string, changedOnly: boolean): Setting[] {
  const words = find
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== '');
  const has = (setting: Setting) =>
    words.every((word) => `${setting.name} ${setting.value ?? ''} ${setting.meaning}`.toLowerCase().includes(word));
  const found = settings.filter((setting) => has(setting) && !(changedOnly && setting.default));
  return [...found.filter((setting) => !setting.default), ...found.filter((setting) => setting.default)];
}
