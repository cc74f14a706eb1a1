import { Button as AriaButton, type ButtonProps as AriaProps } from 'react-aria-components/Button';
import { Icon, type IconName } from './icon';
import styles from './button.module.css';

interface ButtonProps extends Omit<AriaProps, 'className' | 'children' | 'style'> {
  children: React.ReactNode;
  icon?: IconName;
  kind?: 'plain' | 'primary' | 'danger' | 'quiet';
  /** Why it cannot be pressed now; it stays focusable, so that the reason can be read. */
  refused?: string | undefined;
  className?: string;
}

export function Button({ children, icon, kind = 'plain', refused, className, ...rest }: ButtonProps) {
  const button = (
    <AriaButton {...rest} {...(refused ? { onPress: undefined, 'aria-disabled': true as never, 'aria-description': refused } : {})}
      className={`${styles.button} ${styles[kind]} ${refused ? styles.refused : ''} ${className ?? ''}`}>
      {icon && <Icon name={icon} />}
      {children}
    </AriaButton>
  );
  return refused ? <span title={refused} className={styles.reason}>{button}</span> : button;
}

/** A button that shows an icon alone; `label` names it. */
export function IconButton({ icon, label, kind = 'quiet', small, className, ...rest }:
  Omit<AriaProps, 'className' | 'children' | 'style'> & { icon: IconName; label: string; kind?: 'plain' | 'quiet'; small?: boolean; className?: string }) {
  return (
    <span title={label} className={styles.reason}>
      <AriaButton {...rest} aria-label={label} className={`${styles.button} ${styles[kind]} ${styles.iconOnly} ${small ? styles.small : ''} ${className ?? ''}`}>
        <Icon name={icon} />
      </AriaButton>
    </span>
  );
}

/** Class names of a link that looks like a button. */
export function buttonClass(kind: 'plain' | 'primary' = 'plain'): string {
  return `${styles.button} ${styles[kind]}`;
}
