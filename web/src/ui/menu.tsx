import { type ReactElement, type ReactNode } from 'react';
import { Menu as AriaMenu, MenuItem as AriaItem, MenuTrigger, type MenuItemProps } from 'react-aria-components/Menu';
import { Popover } from 'react-aria-components/Popover';
import { Separator } from 'react-aria-components/Separator';
import { useMay } from '@/api/permissions';
import { Icon, type IconName } from './icon';
import styles from './menu.module.css';

/** A button with a menu: arrows move, letters jump, Escape closes. A button that is refused has none. */
export function Menu({
  trigger,
  label,
  children,
}: {
  trigger: ReactElement<{ refused?: string | undefined }>;
  label: string;
  children: ReactNode;
}) {
  if (trigger.props.refused !== undefined) return trigger;
  return (
    <MenuTrigger>
      {trigger}
      <Popover className={styles.popover!} placement="bottom end" offset={4}>
        <AriaMenu aria-label={label} className={styles.menu!}>
          {children as never}
        </AriaMenu>
      </Popover>
    </MenuTrigger>
  );
}

interface ItemProps extends Omit<MenuItemProps, 'className' | 'children'> {
  icon?: IconName;
  children: string;
  /** A second line in small type. */
  detail?: string | undefined;
  danger?: boolean;
  /** Why it cannot be chosen. */
  refused?: string | undefined;
}

export function MenuItem({ icon, children, detail, danger, refused, ...rest }: ItemProps) {
  // One that is refused stays focusable, so that the reason is read aloud.
  const inert = {
    onAction: undefined,
    href: undefined,
    shouldCloseOnSelect: false,
    render: (props: React.JSX.IntrinsicElements['div']) => <div {...props} aria-disabled />,
  };
  return (
    <AriaItem
      {...rest}
      textValue={children}
      {...(refused === undefined ? {} : (inert as object))}
      className={`${styles.item} ${danger ? styles.danger : ''} ${refused === undefined ? '' : styles.refused}`}
    >
      {icon && <Icon name={icon} />}
      <span className={styles.text}>
        {children}
        {(refused ?? detail) && <span className={styles.detail}>{refused ?? detail}</span>}
      </span>
    </AriaItem>
  );
}

/** An item that the caller's policies may not permit; it then says so. */
export function PermittedItem({ action, on, refused, ...item }: ItemProps & { action: string; on: string }) {
  const may = useMay(action, on);
  return <MenuItem {...item} refused={refused ?? may.refused} />;
}

export function MenuSeparator() {
  return <Separator className={styles.separator!} />;
}
