import { checkScenes } from './support/accessibility.ts'

checkScenes('light')
