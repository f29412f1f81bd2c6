import { Button } from '../../components/button.tsx'
import { CodeBlock } from '../../components/code-block.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { saveFile } from '../../components/save-file.ts'
import { text } from '../../text/index.ts'

interface RecoveryCodesProps {
  codes: string[]
  onDone: () => void
}

/** New recovery codes, which the person must save before they go on. */
export function RecoveryCodesView({ codes, onDone }: RecoveryCodesProps) {
  return (
    <div className="grid gap-4">
      <RecoveryCodes codes={codes} />
      <div className="flex flex-wrap gap-2">
        <Actions codes={codes} onDone={onDone} />
      </div>
    </div>
  )
}

/** New recovery codes in a dialog, which only the confirmation closes: the codes are not shown again. */
export function RecoveryCodesDialog({ codes, onDone }: RecoveryCodesProps) {
  return (
    <Dialog
      locked
      onClose={onDone}
      title={text.secondFactors.recoveryTitle}
      actions={<Actions codes={codes} onDone={onDone} />}
    >
      <div className="grid gap-4">
        <RecoveryCodes codes={codes} />
      </div>
    </Dialog>
  )
}

function RecoveryCodes({ codes }: Pick<RecoveryCodesProps, 'codes'>) {
  return (
    <>
      <p className="text-muted">{text.secondFactors.recoveryDescription}</p>
      <CodeBlock code={codes.join('\n')} label={text.secondFactors.recoveryCodes} />
    </>
  )
}

function Actions({ codes, onDone }: RecoveryCodesProps) {
  const file = () => new Blob([`${codes.join('\n')}\n`])
  return (
    <>
      <Button onClick={() => saveFile('berth-recovery-codes.txt', file())}>
        {text.secondFactors.download}
      </Button>
      <Button variant="primary" onClick={onDone}>
        {text.secondFactors.done}
      </Button>
    </>
  )
}
