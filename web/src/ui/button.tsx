import { useId, useState } from 'react';
import { Button as AriaButton, type ButtonProps as AriaProps } from 'react-aria-components/Button';
import { Tooltip, TooltipTrigger } from 'react-aria-components/Tooltip';
import { Icon, type IconName } from './icon';
import styles from './button.module.css';

const tooltipDelayMs = 300;

interface ButtonProps extends Omit<AriaProps, 'className' | 'children' | 'style'> {
  children: React.ReactNode;
  icon?: IconName;
  kind?: 'plain' | 'primary' | 'danger' | 'quiet';
  /** Why it cannot be pressed now. It stays focusable, so that the reason is read aloud, and shown on focus, hover and press. */
  refused?: string | undefined;
  className?: string;
}

export function Button({ children, icon, kind = 'plain', refused, className, ...rest }: ButtonProps) {
  const why = useId();
  const [isOpen, setOpen] = useState(false);
  const content = (
    <>
      {icon && <Icon name={icon} />}
      {children}
    </>
  );
  const name = `${styles.button} ${styles[kind]} ${className ?? ''}`;
  if (refused === undefined)
    return (
      <AriaButton {...rest} className={name}>
        {content}
      </AriaButton>
    );
  return (
    <TooltipTrigger delay={tooltipDelayMs} isOpen={isOpen} onOpenChange={setOpen} shouldCloseOnPress={false}>
      <AriaButton
        {...rest}
        onPress={() => setOpen(true)}
        aria-disabled={true as never}
        aria-describedby={why}
        className={`${name} ${styles.refused}`}
      >
        {content}
      </AriaButton>
      <Tooltip className={styles.why!} placement="bottom" offset={4}>
        {refused}
      </Tooltip>
      <span id={why} hidden>
        {refused}
      </span>
    </TooltipTrigger>
  );
}

/** A button that shows an icon alone; `label` names it. */
export function IconButton({
  icon,
  label,
  kind = 'quiet',
  small,
  className,
  ...rest
}: Omit<AriaProps, 'className' | 'children' | 'style'> & {
  icon: IconName;
  label: string;
  kind?: 'plain' | 'quiet';
  small?: boolean;
  className?: string;
}) {
  return (
    <span title={label} className={styles.reason}>
      <AriaButton
        {...rest}
        aria-label={label}
        className={`${styles.button} ${styles[kind]} ${styles.iconOnly} ${small ? styles.small : ''} ${className ?? ''}`}
      >
        <Icon name={icon} />
      </AriaButton>
    </span>
  );
}

/** Class names of a link that looks like a button. */
export function buttonClass(kind: 'plain' | 'primary' = 'plain'): string {
  return `${styles.button} ${styles[kind]}`;
}
