import { Button } from '../../components/button.tsx'
import { CodeBlock } from '../../components/code-block.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { saveFile } from '../../components/save-file.ts'
import { text } from '../../text/index.ts'

/** New recovery codes, which the person must save before they go on. */
export function RecoveryCodesView({ codes, onDone }: { codes: string[]; onDone: () => void }) {
  const lines = codes.join('\n')
  return (
    <div className="grid gap-4">
      <p className="text-muted">{text.secondFactors.recoveryDescription}</p>
      <CodeBlock code={lines} label={text.secondFactors.recoveryCodes} />
      <div className="flex flex-wrap gap-2">
        <Button onClick={() => saveFile('berth-recovery-codes.txt', new Blob([`${lines}\n`]))}>
          {text.secondFactors.download}
        </Button>
        <Button variant="primary" onClick={onDone}>
          {text.secondFactors.done}
        </Button>
      </div>
    </div>
  )
}

/** New recovery codes in a dialog, which only the confirmation closes: the codes are not shown again. */
export function RecoveryCodesDialog({ codes, onDone }: { codes: string[]; onDone: () => void }) {
  return (
    <Dialog locked onClose={onDone} title={text.secondFactors.recoveryTitle}>
      <RecoveryCodesView codes={codes} onDone={onDone} />
    </Dialog>
  )
}
