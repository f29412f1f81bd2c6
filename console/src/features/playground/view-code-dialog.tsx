import { useState } from 'react'
import { CodeBlock } from '../../components/code-block.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { SegmentedControl } from '../../components/segmented-control.tsx'
import { ScriptSessionButton } from '../../domain/session/script-session-button.tsx'
import { text } from '../../text/index.ts'
import { sampleLanguages, writeSample } from '../../domain/models/code-samples.ts'
import type { SampleLanguage } from '../../domain/models/code-samples.ts'
import type { SampleRequest } from '../../domain/models/curl-sample.ts'

interface ViewCodeDialogProps {
  onClose: () => void
  kind: SampleRequest['kind']
  /** The body of the current request */
  body: Record<string, unknown>
}

/** Shows the current request as a code sample. */
export function ViewCodeDialog({ onClose, kind, body }: ViewCodeDialogProps) {
  const [language, setLanguage] = useState<SampleLanguage>('curl')
  const code = writeSample(language, { kind, origin: location.origin, body })
  return (
    <Dialog onClose={onClose} title={text.requestCode.codeTitle} description={text.requestCode.codeMore} wide>
      <div className="grid min-w-0 grid-cols-[minmax(0,1fr)] justify-items-start gap-3">
        <div className="flex w-full flex-wrap items-center justify-between gap-3">
          <SegmentedControl
            label={text.requestCode.language}
            value={language}
            onValueChange={setLanguage}
            options={sampleLanguages.map((value) => ({ value, label: text.requestCode.languages[value] }))}
          />
          <ScriptSessionButton />
        </div>
        <div className="w-full min-w-0">
          <CodeBlock code={code} label={text.requestCode.languages[language]} />
        </div>
      </div>
    </Dialog>
  )
}
