import { type ReactNode, useId, useRef, useState } from 'react';
import { Dialog as AriaDialog } from 'react-aria-components/Dialog';
import { Heading } from 'react-aria-components/Heading';
import { Modal, ModalOverlay } from 'react-aria-components/Modal';
import { asError } from '@/api/errors';
import { Button, IconButton } from './button';
import { ErrorPanel, StillWaiting } from './states';
import { TextField } from './field';
import { toast } from './toast';
import styles from './dialog.module.css';

interface DialogProps {
  title: string;
  isOpen: boolean;
  onClose: () => void;
  children: ReactNode;
  wide?: boolean;
  /** Of the right or the left edge instead of the middle. */
  side?: boolean;
  /** The content has its own distance from the edges. */
  flush?: boolean;
}

/** A modal dialog: focus stays inside, Escape closes it and gives the focus back. */
export function Dialog({ title, isOpen, onClose, children, wide, side, flush }: DialogProps) {
  return (
    <ModalOverlay
      isOpen={isOpen}
      onOpenChange={(open) => open || onClose()}
      isDismissable
      className={`${styles.overlay} ${side ? styles.atSide : ''}`}
    >
      <Modal className={`${styles.modal} ${wide ? styles.wide : ''} ${side ? styles.side : ''}`}>
        <AriaDialog className={styles.dialog}>
          <header className={styles.head}>
            <Heading slot="title" className={styles.title}>
              {title}
            </Heading>
            <IconButton icon="close" label="Close" onPress={onClose} />
          </header>
          <div className={`${styles.body} ${flush ? styles.flush : ''}`}>{children}</div>
        </AriaDialog>
      </Modal>
    </ModalOverlay>
  );
}

/** The row of buttons at the end of a dialog. */
export function DialogActions({ children }: { children: ReactNode }) {
  return <footer className={styles.actions}>{children}</footer>;
}

interface FormDialogProps extends Omit<DialogProps, 'onClose'> {
  onClose: () => void;
  /** Says what will happen: "Create repository". */
  action: string;
  /** Runs on submission; a rejection is shown in the dialog, which stays open. */
  onSubmit: () => Promise<unknown>;
  danger?: boolean;
  /** Why it cannot be submitted now. */
  refused?: string | undefined;
}

/** A dialog with a form: Enter submits, failures are shown inside and lose no input. */
export function FormDialog({ action, onSubmit, danger, refused, children, onClose, ...dialog }: FormDialogProps) {
  const [running, setRunning] = useState(false);
  const [error, setError] = useState<Error | null>(null);
  const closed = useRef(false);
  const close = () => {
    closed.current = running;
    setError(null);
    onClose();
  };
  const submit = async () => {
    if (running || refused) return;
    setRunning(true);
    setError(null);
    closed.current = false;
    try {
      await onSubmit();
      onClose();
    } catch (thrown) {
      const failed = asError(thrown);
      if (closed.current)
        toast(`${action}: ${failed.message}`); // nobody would see it here
      else setError(failed);
    } finally {
      setRunning(false);
    }
  };
  return (
    <Dialog {...dialog} onClose={close}>
      <form
        className={styles.form}
        onSubmit={(event) => {
          event.preventDefault();
          void submit();
        }}
        onKeyDown={(event) => {
          // Enter alone is a new line where a text has several.
          if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) {
            event.preventDefault();
            event.currentTarget.requestSubmit();
          }
        }}
      >
        {children}
        {error && <ErrorPanel error={error} />}
        <StillWaiting waiting={running}>
          The server is still at work on it. It goes on when this dialog is closed.
        </StillWaiting>
        <DialogActions>
          <Button onPress={close}>Cancel</Button>
          <Button type="submit" kind={danger ? 'danger' : 'primary'} refused={refused}>
            {running ? `${action}…` : action}
          </Button>
        </DialogActions>
      </form>
    </Dialog>
  );
}

interface ConfirmDialogProps {
  title: string;
  isOpen: boolean;
  onClose: () => void;
  action: string;
  onConfirm: () => Promise<unknown>;
  /** The effect in numbers: "Deletes 3 branches; frees 1.2 GB after 24 h." */
  children: ReactNode;
  /** The name that has to be typed first. */
  typed?: string;
}

/** Asks before a destructive action. */
export function ConfirmDialog({ typed, onConfirm, ...rest }: ConfirmDialogProps) {
  const [name, setName] = useState('');
  const hint = useId();
  const refused = typed !== undefined && name !== typed ? `Type ${typed} to confirm` : undefined;
  return (
    <FormDialog
      {...rest}
      danger
      refused={refused}
      onClose={() => {
        setName('');
        rest.onClose();
      }}
      onSubmit={onConfirm}
    >
      <div id={hint}>{rest.children}</div>
      {typed !== undefined && (
        <TextField
          label={
            <>
              Type <strong className="mono">{typed}</strong> to confirm
            </>
          }
          value={name}
          onChange={setName}
          autoFocus
          mono
        />
      )}
    </FormDialog>
  );
}
