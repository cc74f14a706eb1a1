import { useState } from 'react';
import { Button, IconButton } from './button';
import { Menu, MenuItem } from './menu';
import { toast } from './toast';

export async function copyText(text: string) {
  try {
    await navigator.clipboard.writeText(text);
    toast('Copied');
  } catch {
    // Without TLS a page may not write to the clipboard, except on loopback.
    const area = document.createElement('textarea');
    area.value = text;
    area.setAttribute('readonly', '');
    area.className = 'visually-hidden';
    document.body.append(area);
    area.select();
    const copied = document.execCommand('copy');
    area.remove();
    toast(copied ? 'Copied' : 'The browser refused to copy');
  }
}

export function CopyButton({ text, label }: { text: string; label: string }) {
  const [copied, setCopied] = useState(false);
  return (
    <IconButton
      small
      icon={copied ? 'check' : 'copy'}
      label={label}
      onPress={() => {
        void copyText(text);
        setCopied(true);
        setTimeout(() => setCopied(false), 1500);
      }}
    />
  );
}

export interface Snippet {
  label: string;
  text: string;
}

/** A menu that copies the same thing as a tarn line, Python, curl, an S3 URI ... */
export function CopyAs({ snippets, label = 'Copy as' }: { snippets: readonly Snippet[]; label?: string }) {
  return (
    <Menu trigger={<Button icon="copy">{label}</Button>} label={label}>
      {snippets.map((snippet) => (
        <MenuItem key={snippet.label} onAction={() => void copyText(snippet.text)} detail={snippet.text}>
          {snippet.label}
        </MenuItem>
      ))}
    </Menu>
  );
}
