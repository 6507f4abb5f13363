"""`snellen tower`: training heads on vision towers, comparing towers, and the models that ComBo trains."""

from snellen.towers.commands.combo_training import train_classifier, train_llava, write_conversations
from snellen.towers.commands.tower import app

app.command()(train_classifier)
app.command()(write_conversations)
app.command()(train_llava)

__all__ = ["app"]
