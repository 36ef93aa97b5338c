// In place of `linkify-it`, which is switched off: the option `linkify` of markdown-it stays false.
export class LinkifyIt {}
